import { sshKeyColumns } from '../../account/ssh-keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'ssh-key list',
  summary: 'List the public keys for your rentals',
  examples: {
    'millrace ssh-key list': 'With fingerprints, as ssh-keygen -l prints them',
    'millrace ssh-key list --columns name,public-key': 'The keys themselves',
  },
  operations: ['listSshPublicKeys'],
  json: 'list',
  failure: 'Could not list the SSH keys',
  async run(context) {
    const keys = await context.client().sshKeys.list({ limit: 200 }, { signal: context.signal }).all();
    printList(context, keys, sshKeyColumns, { empty: 'No SSH keys yet. Add yours: millrace ssh-key add' });
  },
});
