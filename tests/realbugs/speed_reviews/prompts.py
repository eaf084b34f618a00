import sys; sys.path.insert(0,'/work/main/tests/realbugs')
from pathlib import Path
from reported_cases import cases, cases_in, Kind, Folder
import yaml, random, json
from tilewright.agents import speed_reviewer
from tilewright.executed.reviews import reviewed_functions as _functions
from tilewright.source import parse_module
found=yaml.safe_load(open('/work/main/tests/realbugs/results.yaml'))
what=sys.argv[1]
if what=='old':
    todo=[c for c in cases() if c.entry.kind is Kind.SLOW and c.is_decidable and not found[c.name]]
else:
    todo=[c for c in cases_in(Path("/work/main/tests/realbugs/blind6"), Folder.FOURTH_BLIND) if c.is_decidable]
n=0; jobs={'faulty':[], 'fixed':[]}
for c in todo:
    for v in ('faulty','fixed'):
        m=parse_module(getattr(c,v),'kernels.py')
        names=_functions(m)
        if not names: print('no function',c.name,v); continue
        jobs[v].append((c.name,speed_reviewer.build(m.text,names)))
random.seed(5)
K=int(sys.argv[2]) if what=="old" else 6
print({k:len(v) for k,v in jobs.items()})
out=Path('/tmp/sp')/what
ids={}
for v in jobs:
    random.shuffle(jobs[v])
for g in range(K):
    # faulty of share g, fixed of share g+1: no helper sees both versions of a case
    F=jobs['faulty'];names=[n for n,_ in F]
    mine=[(n,'faulty',p) for i,(n,p) in enumerate(F) if i%K==g]
    mine+=[(n,'fixed',p) for n,p in jobs['fixed'] if n in names and names.index(n)%K==(g+1)%K]
    random.shuffle(mine)
    for i,(n,v,p) in enumerate(mine):
        d=out/f'group{g}'; d.mkdir(parents=True,exist_ok=True)
        (d/f'{i:02}.prompt.md').write_text("\n\n".join(m.text for m in p.messages()))
        ids[f'group{g}/{i:02}']=[n,v]
json.dump(ids,open(out/'ids.json','w'))
for g in range(K): print(g,len(list((out/f'group{g}').glob('*.prompt.md'))))
