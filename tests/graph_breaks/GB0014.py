"""A recurrent layer is called."""

CODE = "GB0014"
import torch


def layer():
    cell = torch.nn.GRU(2, 2)
    for parameter in cell.parameters():
        parameter.data.fill_(0.5)
    return cell


def run(compile):
    cell = layer()

    @compile
    def last(x):
        return cell(x)[1] * 2

    return last(torch.ones(3, 2)).detach()


def fix(compile):
    cell = layer()

    @compile
    def last(x):
        return cell(x)[1] * 2

    with torch._dynamo.config.patch(allow_rnn=True):
        return last(torch.ones(3, 2)).detach()
