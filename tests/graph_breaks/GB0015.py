"""A sparse matrix is an argument."""

CODE = "GB0015"
import torch


def run(compile):
    @compile
    def product(matrix, x):
        return matrix.to_dense() @ x

    return product(torch.eye(2).to_sparse(), torch.ones(2))


def fix(compile):
    @compile
    def product(matrix, x):
        return matrix @ x

    return product(torch.eye(2).to_sparse().to_dense(), torch.ones(2))
