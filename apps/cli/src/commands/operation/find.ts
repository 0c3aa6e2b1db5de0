import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { operationColumns } from '../../operations/record.ts';

export const command = defineCommand({
  name: 'operation find',
  summary: 'Find the result of a request by its idempotency key',
  description:
    'For a request whose response was lost. An unknown key means that the request never arrived, was refused, or is older than 30 days.',
  positionals: [{ name: 'idempotencyKey', describe: 'the Idempotency-Key of the request' }],
  examples: {
    'millrace operation find order-4711': 'Whether the request succeeded',
    'millrace operation find order-4711 --columns status,resource': 'The resource it created',
  },
  operations: ['findOperation'],
  json: 'record',
  failure: 'Could not find the request',
  run: async (context, { args: { idempotencyKey } }) =>
    printRecord(context, await context.client().operations.find({ idempotencyKey }), operationColumns),
});
