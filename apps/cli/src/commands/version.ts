import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';

export const command = defineCommand({
  name: 'version',
  summary: 'Show the version of the CLI and the address of the API',
  examples: {
    'millrace version': 'For people',
    'millrace version --json': 'For scripts',
  },
  operations: [],
  offline: true,
  json: { kind: 'record', fields: ['version', 'apiUrl', 'profile'] },
  run(context) {
    const record = {
      version: context.version,
      apiUrl: context.profile.apiUrl,
      profile: context.profile.name,
    };
    printRecord(context, record, [
      { name: 'version', value: (row) => row.version },
      { name: 'api-url', value: (row) => row.apiUrl },
      { name: 'profile', value: (row) => row.profile },
    ]);
    return Promise.resolve();
  },
});
