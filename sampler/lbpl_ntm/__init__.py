"""LBPL-NTM, the paper's model: a hierarchical Dirichlet process over categories on top of a layer of topics.

`start` a chain of either kernel, `sweep` it, `keep` draws; `dump` and `load` are its checkpoint. What a chain has kept
is answered by `sampler.answers`.
"""

from sampler.lbpl_ntm.chain import keep, start, sweep
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.state import Draw, State

__all__ = ["Draw", "State", "dump", "keep", "load", "start", "sweep"]
