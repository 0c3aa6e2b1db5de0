import { meColumns } from '../account/me.ts';
import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';

export const command = defineCommand({
  name: 'whoami',
  summary: 'Show who you are and what your key may do',
  examples: {
    'millrace whoami': 'Person, organisation, role and key',
    'millrace whoami --json': 'With the limits of the key, for a script',
  },
  operations: ['getMe'],
  json: 'record',
  failure: 'Could not tell who you are',
  async run(context) {
    const me = await context.client().me.get({}, { signal: context.signal });
    printRecord(context, me, meColumns);
    const { name, apiUrl, keyFrom } = context.profile;
    const from = keyFrom === 'environment' ? 'the key of MILLRACE_API_KEY' : `profile "${name}"`;
    context.note(`At ${apiUrl}, with ${from}.`);
  },
});
