"""What the names of parameters say by convention, where nothing else does."""

import re

POINTER = re.compile(r"(?i)(^|_)(ptrs?|pointers?)($|_)|ptr$|^ptr|^p_")
INDEX = re.compile(
    r"(?i)idx|indic|index|_ids?($|_)|^ids?($|_)|label|target|seqlen|cu_seq|lens?_|_lens?($|_)"
    r"|table|slot|mapping|position|count|_loc($|_)|offsets?_ptr|permut|locks?$|lookback|counter"
    r"|sorted_|chunk_ind|splits"
)
BITS = re.compile(r"(?i)mask|flag|^cond|condition")
FLOAT = re.compile(
    r"(?i)^(eps|epsilon|scale|alpha|beta\d?|gamma|lr|p|prob|momentum|decay|factor|slope|lambd?a?"
    r"|threshold|tau|value|val|min|max|mini|maxi|low|high|mean|std|rate|temperature|softcap|c)$"
    r"|eps$|scale$|_scale|scale_|alpha|dropout|softcap|momentum|decay|smoothing|temperature"
    r"|^inv_|_lr$|^lr_|factor|threshold|slope|probab|gamma|weight_|_value$|^value_|_coef|coef_"
    r"|^sm_|_norm$|_mul$|rcp|_p$"
)
FACTOR = re.compile(r"(?i)(^|_)(eps|epsilon|scale|alpha|beta|softcap|momentum)$")
AXIS = re.compile(r"(?i)(^|_)axis$")
STRIDE = re.compile(r"(?i)stride|^s(?!td$)[A-Z]?_?[a-z]{1,2}$")
TYPE = re.compile(r"(?i)type$|_ty$|^ty_")
FLAG = re.compile(
    r"(?i)^(has|is|use|need|do|with|enable|apply|return|compute|even|store|load|save|upcast|no|not"
    r"|inplace|pad|reverse|keep|transpose|trans|skip|include|exclude|allow|sorted|descending|force"
    r"|largest)_|causal|_flag$|inplace|requires_grad|^(reverse|descending|causal|training|affine)$"
)
SIZE = re.compile(r"(?i)block|tile|chunk|^B[A-Z]{1,3}$|size|dim|^[NMKDHVCRST]$|cols|rows")
DEPTH = re.compile(r"(?i)^(block|tile)(_?size)?_?k$|^BK$")
