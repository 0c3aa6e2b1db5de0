import type { Input } from '../../sdk.ts';
import { defineCommand } from '../../framework/command.ts';
import { lostSecretError } from '../../framework/errors.ts';
import { printJson, printRecord } from '../../framework/output.ts';
import { typesFlag, webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook create',
  summary: 'Have events sent to an address of yours',
  description:
    'Deliveries follow Standard Webhooks and are signed with the secret that is shown now and never again. The address ' +
    'must be https and reachable from outside; for your own machine there is millrace webhook listen.',
  positionals: [{ name: 'url', describe: 'where to send them, https://…' }],
  flags: {
    type: typesFlag,
    description: { type: 'text', value: 'TEXT', describe: 'what it is for' },
  },
  examples: {
    'millrace webhook create https://example.com/hooks/millrace': 'every event',
    'millrace webhook create https://example.com/hooks --type rental.running,rental.terminated':
      'two types only',
  },
  operations: ['createWebhook'],
  json: 'record',
  failure: 'Could not create the webhook',
  run: async (context, { args: { url }, flags }) => {
    // The service says which types it does not know: it may know more of them than this program.
    const eventTypes = flags.type as NonNullable<Input<'createWebhook'>['eventTypes']>;
    const webhook = await context.client().webhooks.create({
      url,
      ...(eventTypes.length === 0 ? {} : { eventTypes }),
      description: flags.description,
    });
    const isJson = context.output.format === 'json';
    if (isJson) printJson(context, webhook);
    else
      printRecord(context, webhook, [
        ...webhookColumns,
        { name: 'secret', value: ({ secret }: typeof webhook) => secret },
      ]);
    if (webhook.secret === null) {
      const fix = `Give it another: millrace webhook rotate-secret ${webhook.id} --overlap 0`;
      throw lostSecretError('The webhook was created', fix);
    }
    if (isJson) return;
    context.note('Keep the secret now: it is not shown again.');
  },
});
