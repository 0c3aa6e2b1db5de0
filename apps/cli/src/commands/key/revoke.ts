import { findKey } from '../../account/keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'key revoke',
  summary: 'Revoke an API key: it stops working within a second',
  positionals: [{ name: 'key', describe: 'id or name of the key' }],
  examples: {
    'millrace key revoke ci': 'Asks for confirmation',
    'millrace key revoke ci --yes': 'In a script',
  },
  operations: ['revokeApiKey'],
  json: 'record',
  failure: 'Could not revoke the key',
  async run(context, { args }) {
    const key = await findKey(context, args.key);
    await context.confirm(`Revoke key "${key.name}" (${key.prefix}…)? Programs that use it stop working.`);
    const revoked = await context.client().keys.revoke({ keyId: key.id }, { signal: context.signal });
    printResult(context, `Revoked key "${key.name}" (${key.id}).`, revoked);
  },
});
