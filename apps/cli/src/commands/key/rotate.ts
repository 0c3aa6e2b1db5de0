import { findKey } from '../../account/keys.ts';
import { showNewKey } from '../../account/new-key.ts';
import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { parseDuration } from '@millrace/sdk/text';
import { timestampText } from '../../text/timestamps.ts';

export const command = defineCommand({
  name: 'key rotate',
  summary: 'Replace an API key with a new one',
  description: 'The new key has the name, scopes and limits of the old one, and is printed only once.',
  positionals: [{ name: 'key', describe: 'id or name of the key' }],
  flags: {
    overlap: { type: 'text', value: 'DURATION', describe: 'how long the old key keeps working, such as 1h' },
  },
  examples: {
    'millrace key rotate ci --overlap 1h': 'One hour to deploy the new key',
    'millrace key rotate ci --yes > key.txt': 'Immediately, into a file',
  },
  operations: ['rotateApiKey'],
  json: 'record',
  failure: 'Could not rotate the key',
  async run(context, { args, flags }) {
    const seconds = flags.overlap === undefined ? 0 : parseDuration(flags.overlap);
    if (seconds === null)
      throw new UsageError(`--overlap is ${JSON.stringify(flags.overlap)}; use a duration such as 1h.`);
    const key = await findKey(context, args.key);
    if (seconds === 0)
      await context.confirm(`Rotate key "${key.name}"? The old one stops working immediately.`);
    const rotated = await context
      .client()
      .keys.rotate({ keyId: key.id, overlapSeconds: seconds }, { signal: context.signal });
    showNewKey(context, rotated);
    context.note(`The old key works until ${timestampText(rotated.previous.expiresAt)}.`);
  },
});
