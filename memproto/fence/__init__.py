"""The fence: recalled text goes to the model in one block that no recalled text ends or forges."""

from memproto.fence.block import CLOSE_TAG as CLOSE_TAG
from memproto.fence.block import NONCE as NONCE
from memproto.fence.block import NOTE as NOTE
from memproto.fence.block import OPEN_TAG as OPEN_TAG
from memproto.fence.block import begins_memory_context as begins_memory_context
from memproto.fence.block import build_memory_context_block as build_memory_context_block
from memproto.fence.block import checked_nonce as checked_nonce
from memproto.fence.block import inject_memory_context as inject_memory_context
from memproto.fence.block import parse_memory_context as parse_memory_context
from memproto.fence.block import sanitize_context as sanitize_context
from memproto.fence.block import strip_memory_context as strip_memory_context
