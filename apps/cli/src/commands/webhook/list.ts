import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import { webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook list',
  summary: 'List webhooks with their status',
  flags: limitFlag,
  examples: {
    'millrace webhook list': 'All webhooks',
    'millrace webhook list --columns id,url,status': 'Only these columns',
  },
  operations: ['listWebhooks'],
  json: 'list',
  failure: 'Could not list the webhooks',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().webhooks.list({ limit: pageSize(limit) }), webhookColumns, {
      limit,
      noun: 'webhooks',
      empty: 'No webhooks yet. Try one locally: millrace webhook listen http://127.0.0.1:3000',
    }),
});
