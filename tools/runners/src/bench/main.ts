import { runMain } from '../common/cli.ts';
import { repositoryRoot } from '../common/load-definition.ts';
import { benchCommand } from './command.ts';
import { pinThisProcess } from './cores.ts';

const place = { root: repositoryRoot, folder: 'bench', suffix: '.bench.ts', exportName: 'bench' };

await runMain((args, output) => benchCommand(place, pinThisProcess, args, output));
