import { keyMode } from '../../framework/key-mode.ts';
import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { readProfiles } from '../../framework/profiles.ts';

export const command = defineCommand({
  name: 'profile list',
  summary: 'List the saved profiles',
  examples: {
    'millrace profile list': 'All profiles with their addresses',
    'millrace profile list --json': 'For a script; keys are never printed',
  },
  operations: [],
  offline: true,
  json: { kind: 'list', fields: ['name', 'apiUrl', 'inferenceUrl', 'mode', 'current'] },
  async run(context) {
    const store = await readProfiles(context.files, context);
    const rows = Object.entries(store.profiles).map(([name, { apiUrl, inferenceUrl, apiKey }]) => ({
      name,
      apiUrl,
      inferenceUrl: inferenceUrl ?? apiUrl,
      mode: keyMode(apiKey),
      current: name === context.profile.name,
    }));
    printList(
      context,
      rows,
      [
        { name: 'name', value: (row) => row.name },
        { name: 'api-url', value: (row) => row.apiUrl },
        { name: 'inference-url', value: (row) => row.inferenceUrl, extra: true },
        { name: 'mode', value: (row) => row.mode },
        { name: 'current', value: (row) => (row.current ? 'yes' : '') },
      ],
      { empty: 'No profiles yet. Create one: millrace login' },
    );
  },
});
