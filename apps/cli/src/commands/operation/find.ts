import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { operationColumns } from '../../operations/record.ts';

export const command = defineCommand({
  name: 'operation find',
  summary: 'What became of a request, by its idempotency key',
  description:
    'For a request whose answer never came. A key of which nothing is known belongs to a request that never arrived, was ' +
    'refused, or is older than 30 days.',
  positionals: [{ name: 'idempotencyKey', describe: 'what was sent as Idempotency-Key' }],
  examples: {
    'millrace operation find order-4711': 'whether it was carried out',
    'millrace operation find order-4711 --columns status,resource': 'what it made',
  },
  operations: ['findOperation'],
  json: 'record',
  failure: 'Could not find what became of the request',
  run: async (context, { args: { idempotencyKey } }) =>
    printRecord(context, await context.client().operations.find({ idempotencyKey }), operationColumns),
});
