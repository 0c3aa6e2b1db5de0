import { findSshKey } from '../../account/ssh-keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'ssh-key delete',
  summary: 'Remove a public key',
  description: 'New rentals do not get it. Existing rentals keep it.',
  positionals: [{ name: 'key', describe: 'id, name or fingerprint of the key' }],
  examples: {
    'millrace ssh-key delete work': 'Asks for confirmation',
    'millrace ssh-key delete work --yes': 'In a script',
  },
  operations: ['deleteSshPublicKey'],
  json: { kind: 'record', fields: ['id', 'deleted'] },
  failure: 'Could not remove the SSH key',
  async run(context, { args }) {
    const key = await findSshKey(context, args.key);
    await context.confirm(`Remove SSH key "${key.name}" (${key.fingerprint})?`);
    await context.client().sshKeys.delete({ sshKeyId: key.id }, { signal: context.signal });
    printResult(context, `Removed "${key.name}".`, { id: key.id, deleted: true });
  },
});
