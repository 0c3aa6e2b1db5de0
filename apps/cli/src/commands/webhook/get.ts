import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook get',
  summary: 'Show a webhook',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  examples: {
    'millrace webhook get whk_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'With its status and reason',
    'millrace webhook get whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --json': 'For a script',
  },
  operations: ['getWebhook'],
  json: 'record',
  failure: 'Could not read the webhook',
  run: async (context, { args: { webhookId } }) =>
    printRecord(context, await context.client().webhooks.get({ webhookId }), webhookColumns),
});
