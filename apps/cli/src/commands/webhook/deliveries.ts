import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import { deliveryColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook deliveries',
  summary: 'List the deliveries of a webhook with their responses, newest first',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  flags: {
    status: {
      type: 'text',
      value: 'STATUS',
      choices: ['pending', 'succeeded', 'failed', 'abandoned'],
      describe: 'only deliveries with this status',
    },
    ...limitFlag,
  },
  examples: {
    'millrace webhook deliveries whk_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'The newest deliveries',
    'millrace webhook deliveries whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --status failed': 'Failed deliveries',
  },
  operations: ['listWebhookDeliveries'],
  json: 'list',
  failure: 'Could not list the deliveries',
  run: (context, { args: { webhookId }, flags: { limit, status } }) =>
    printLimitedList(
      context,
      context.client().webhooks.listDeliveries({
        webhookId,
        limit: pageSize(limit),
        status,
      }),
      deliveryColumns,
      { limit, noun: 'deliveries', empty: 'No deliveries yet. See the events: millrace events' },
    ),
});
