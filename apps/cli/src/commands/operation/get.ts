import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { operationColumns } from '../../operations/record.ts';

export const command = defineCommand({
  name: 'operation get',
  summary: 'Show the result of a request by its record',
  positionals: [{ name: 'operationId', describe: 'the id of the record, op_…' }],
  examples: {
    'millrace operation get op_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'The resource it created or changed',
    'millrace operation get op_01JD8Q7XK4T2M9V6B3N5C1F0GH --json': 'For a script',
  },
  operations: ['getOperation'],
  json: 'record',
  failure: 'Could not read the result of the request',
  run: async (context, { args: { operationId } }) =>
    printRecord(context, await context.client().operations.get({ operationId }), operationColumns),
});
