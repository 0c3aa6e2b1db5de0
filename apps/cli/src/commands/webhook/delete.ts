import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'webhook delete',
  summary: 'Delete a webhook: it gets no further events',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  examples: {
    'millrace webhook delete whk_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Asks for confirmation',
    'millrace webhook delete whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --yes': 'In a script',
  },
  operations: ['deleteWebhook'],
  json: { kind: 'record', fields: ['id', 'deleted'] },
  failure: 'Could not delete the webhook',
  run: async (context, { args: { webhookId } }) => {
    await context.confirm(`Delete the webhook ${webhookId}? Its deliveries and its secret are deleted too.`);
    await context.client().webhooks.delete({ webhookId });
    printResult(context, `Deleted ${webhookId}.`, { id: webhookId, deleted: true });
  },
});
