"""torch.nn.utils.rnn: sequences of different lengths, padded and packed."""

from ..._absent import absent_names as _absent_names
from ..packed_sequence import PackedSequence as PackedSequence
from ..packed_sequence import invert_permutation as invert_permutation
from ..packed_sequence import pack_padded_sequence as pack_padded_sequence
from ..packed_sequence import pack_sequence as pack_sequence
from ..packed_sequence import pad_packed_sequence as pad_packed_sequence
from ..packed_sequence import pad_sequence as pad_sequence
from ..packed_sequence import unpack_sequence as unpack_sequence
from ..packed_sequence import unpad_sequence as unpad_sequence

__getattr__ = _absent_names(__name__)
