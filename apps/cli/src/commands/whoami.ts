import { meColumns } from '../account/me.ts';
import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';

export const command = defineCommand({
  name: 'whoami',
  summary: 'Show your account and the rights of your key',
  examples: {
    'millrace whoami': 'User, organisation, role and key',
    'millrace whoami --json': 'With the limits of the key, for a script',
  },
  operations: ['getMe'],
  json: 'record',
  failure: 'Could not read your account',
  async run(context) {
    const me = await context.client().me.get({}, { signal: context.signal });
    printRecord(context, me, meColumns);
    const { name, apiUrl, keyFrom } = context.profile;
    const from = keyFrom === 'environment' ? 'the key of MILLRACE_API_KEY' : `profile "${name}"`;
    context.note(`At ${apiUrl}, with ${from}.`);
  },
});
