import { removeProfiles } from '../account/remove-profiles.ts';
import { defineCommand } from '../framework/command.ts';
import { printResult } from '../framework/output.ts';
import { readProfiles, writeProfiles } from '../framework/profiles.ts';

export const command = defineCommand({
  name: 'logout',
  summary: 'Remove the saved key of a profile',
  description: 'The key itself stays valid. To revoke it, run millrace key revoke before you log out.',
  flags: { all: { type: 'boolean', describe: 'remove all profiles' } },
  examples: {
    'millrace logout': 'The current profile',
    'millrace logout --all': 'All keys on this machine',
  },
  operations: [],
  offline: true,
  json: { kind: 'record', fields: ['forgotten', 'current'] },
  failure: 'Could not log out',
  async run(context, { flags }) {
    const store = await readProfiles(context.files, context);
    const names = flags.all === true ? Object.keys(store.profiles) : [context.profile.name];
    const { removed, rest } = removeProfiles(store, names);
    if (removed.length > 0) await writeProfiles(context.files, context, rest);
    const text = removed.length === 0 ? 'There is no saved key.' : `Removed: ${removed.join(', ')}.`;
    printResult(context, text, { forgotten: removed, current: rest.current });
    const others = Object.keys(rest.profiles);
    if (others.length > 0 && !others.includes(rest.current)) {
      context.note(
        `You are logged out. To use another profile (${others.join(', ')}): millrace profile use NAME`,
      );
    }
  },
});
