import { findKey, keyColumns } from '../../account/keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'key get',
  summary: 'Show an API key with its scopes, limits and last use',
  positionals: [{ name: 'key', describe: 'id or name of the key' }],
  examples: {
    'millrace key get ci': 'By name',
    'millrace key get ci --json': 'With its limits, for a script',
  },
  operations: ['getApiKey'],
  json: 'record',
  failure: 'Could not show the key',
  async run(context, { args }) {
    const { id } = await findKey(context, args.key);
    const key = await context.client().keys.get({ keyId: id }, { signal: context.signal });
    const limits = Object.entries(key.limits).filter(([, value]) => value !== null);
    printRecord(context, key, [
      ...keyColumns(context).map(({ extra: _extra, ...column }) => column),
      {
        name: 'limits',
        value: () => limits.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(', '),
      },
    ]);
  },
});
