import { startStorageNode } from './storage-node.ts';

// A run that will be killed: it starts a storage node and prints its details.
const { endpoint, credential, folder, vips } = await startStorageNode({ poolGb: 4 });
process.stdout.write(`${JSON.stringify({ endpoint, credential, folder, vip: vips.split('-')[0] })}\n`);
setInterval(() => {}, 60_000);
