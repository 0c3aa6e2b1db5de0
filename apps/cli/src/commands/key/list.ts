import { keyColumns, keyState } from '../../account/keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'key list',
  summary: 'List API keys',
  flags: { all: { type: 'boolean', describe: 'also revoked and expired keys' } },
  examples: {
    'millrace key list': 'Active keys with their last use',
    'millrace key list --columns name,scopes,addresses': 'The rights of each key',
  },
  operations: ['listApiKeys'],
  json: 'list',
  failure: 'Could not list the keys',
  async run(context, { flags }) {
    const keys = await context.client().keys.list({ limit: 200 }, { signal: context.signal }).all();
    const nowMs = context.clock.now().getTime();
    const shown = flags.all === true ? keys : keys.filter((key) => keyState(key, nowMs) === 'active');
    const left = keys.length - shown.length;
    printList(context, shown, keyColumns(context), {
      empty: 'No keys yet. Create one: millrace key create ci --scope rentals:read',
      ...(left === 0 ? {} : { footer: `${String(left)} inactive keys are hidden. Show them: --all` }),
    });
  },
});
