"""What DataLoader is made of: collating, fetching, worker processes."""

from . import collate as collate
from . import fetch as fetch
from . import worker as worker
