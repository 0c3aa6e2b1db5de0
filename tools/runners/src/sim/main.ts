import { runMain } from '../common/cli.ts';
import { repositoryRoot } from '../common/load-definition.ts';
import { simCommand } from './command.ts';

const place = { root: repositoryRoot, folder: 'tests/sim', suffix: '.sim.ts', exportName: 'sim' };

await runMain((args, output) => simCommand(place, args, output));
