import { readPublicKey } from '../../account/ssh-keys.ts';
import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'ssh-key add',
  summary: 'Add a public key for your rentals',
  description:
    'Without a file it adds the default key of ssh, such as ~/.ssh/id_ed25519.pub. New rentals get all your keys by default.',
  positionals: [{ name: 'file', describe: 'the public key; - for standard input', optional: true }],
  flags: { name: { type: 'text', value: 'NAME', describe: 'the name; default: the comment of the key' } },
  examples: {
    'millrace ssh-key add': 'Your default key',
    'millrace ssh-key add ~/.ssh/work.pub --name work': 'Another key, with a name',
  },
  operations: ['createSshPublicKey'],
  json: 'record',
  failure: 'Could not add the SSH key',
  async run(context, { args, flags }) {
    const file = await readPublicKey(context, args.file);
    const added = await context
      .client()
      .sshKeys.create({ name: flags.name ?? file.name, publicKey: file.text }, { signal: context.signal });
    printResult(context, `Added "${added.name}" (${added.fingerprint}) from ${file.path}.`, added);
  },
});
