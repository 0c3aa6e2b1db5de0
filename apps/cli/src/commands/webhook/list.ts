import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import { webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook list',
  summary: 'List webhooks, and whether they can be reached',
  flags: limitFlag,
  examples: {
    'millrace webhook list': 'where events are sent',
    'millrace webhook list --columns id,url,status': 'just these columns',
  },
  operations: ['listWebhooks'],
  json: 'list',
  failure: 'Could not list the webhooks',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().webhooks.list({ limit: pageSize(limit) }), webhookColumns, {
      limit,
      noun: 'webhooks',
      empty: 'There is no webhook. Try one first: millrace webhook listen http://127.0.0.1:3000',
    }),
});
