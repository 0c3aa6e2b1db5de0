import { meColumns, meFields } from '../account/me.ts';
import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';

export const command = defineCommand({
  name: 'whoami',
  summary: 'Show who you are and what your key may do',
  examples: [
    { command: 'millrace whoami', about: 'Person, organisation, role and key' },
    { command: 'millrace whoami --json', about: 'With the limits of the key, for a script' },
  ],
  operations: ['getMe'],
  json: { kind: 'record', fields: meFields },
  failure: 'Could not tell who you are',
  async run(context) {
    const me = await context.client().me.get({}, { signal: context.signal });
    printRecord(context, me, meColumns);
    const { name, apiUrl, keyFrom } = context.profile;
    const from = keyFrom === 'environment' ? 'the key of MILLRACE_API_KEY' : `profile "${name}"`;
    context.note(`At ${apiUrl}, with ${from}.`);
  },
});
