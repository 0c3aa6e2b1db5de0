import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import { webhookColumns, webhookFields } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook list',
  summary: 'List webhooks, and whether they can be reached',
  flags: limitFlag,
  examples: [
    { command: 'millrace webhook list', about: 'where events are sent' },
    { command: 'millrace webhook list --columns id,url,status', about: 'just these columns' },
  ],
  operations: ['listWebhooks'],
  json: { kind: 'list', fields: webhookFields },
  failure: 'Could not list the webhooks',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().webhooks.list({ limit: pageSize(limit) }), webhookColumns, {
      limit,
      noun: 'webhooks',
      empty: 'There is no webhook. Try one first: millrace webhook listen http://127.0.0.1:3000',
    }),
});
