import { defineCommand } from '../../framework/command.ts';
import { lostSecretError, UsageError } from '../../framework/errors.ts';
import { printJson } from '../../framework/output.ts';
import { exactDuration, parseDuration } from '@millrace/sdk/text';

const defaultOverlapSeconds = 24 * 3600;

export const command = defineCommand({
  name: 'webhook rotate-secret',
  summary: 'Rotate the signing secret of a webhook',
  description:
    'During the overlap, every delivery has a signature of each secret, so that you can update the receiver without a gap.',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  flags: {
    overlap: {
      type: 'text',
      value: 'TIME',
      describe: 'how long the old secret still signs; default 24h, at most 7d',
    },
  },
  examples: {
    'millrace webhook rotate-secret whk_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'With one day to update the receiver',
    'millrace webhook rotate-secret whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --overlap 0':
      'Immediately, because the old secret leaked',
  },
  operations: ['rotateWebhookSecret'],
  json: 'record',
  failure: 'Could not rotate the secret',
  run: async (context, { args: { webhookId }, flags }) => {
    const overlapSeconds = overlapOf(flags.overlap);
    const webhook = await context.client().webhooks.rotateSecret({ webhookId, overlapSeconds });
    if (context.output.format === 'json') printJson(context, webhook);
    if (webhook.secret === null) {
      const fix = `Rotate it again: millrace webhook rotate-secret ${webhook.id}`;
      throw lostSecretError('The webhook has a new secret', fix);
    }
    if (context.output.format === 'json') return;
    context.io.out(`${webhook.secret}\n`);
    const old = overlapSeconds === 0 ? 'no longer signs' : `still signs for ${exactDuration(overlapSeconds)}`;
    context.note(`Save it now: it is not shown again. The old secret ${old}.`);
  },
});

function overlapOf(typed: string | undefined): number {
  if (typed === undefined) return defaultOverlapSeconds;
  const seconds = parseDuration(typed);
  if (seconds !== null) return seconds;
  throw new UsageError(`--overlap is ${JSON.stringify(typed)}; use a duration such as 0, 30m, 24h or 7d.`);
}
