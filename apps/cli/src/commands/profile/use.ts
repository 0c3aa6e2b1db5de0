import { defineCommand } from '../../framework/command.ts';
import { CliError } from '../../framework/errors.ts';
import { exitCodes } from '../../framework/exit-codes.ts';
import { printResult } from '../../framework/output.ts';
import { readProfiles, writeProfiles } from '../../framework/profiles.ts';

export const command = defineCommand({
  name: 'profile use',
  summary: 'Choose the profile for future commands',
  positionals: [{ name: 'name', describe: 'the profile' }],
  examples: {
    'millrace profile use work': 'For all future commands',
    'millrace rental list --profile work': 'For one command only',
  },
  operations: [],
  offline: true,
  json: { kind: 'record', fields: ['current'] },
  async run(context, { args: { name } }) {
    const store = await readProfiles(context.files, context);
    if (!Object.hasOwn(store.profiles, name)) {
      throw new CliError(`There is no profile "${name}".`, {
        why: `Existing profiles: ${Object.keys(store.profiles).join(', ') || 'none'}.`,
        fix: `millrace login --profile ${name}`,
        exitCode: exitCodes.notFound,
      });
    }
    await writeProfiles(context.files, context, { ...store, current: name });
    printResult(context, `Using profile "${name}".`, { current: name });
  },
});
