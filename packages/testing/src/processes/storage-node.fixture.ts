import { startStorageNode } from './storage-node.ts';

// A run that is about to be killed: it has a storage node and says where.
const { endpoint, credential, folder, vips } = await startStorageNode({ poolGb: 4 });
process.stdout.write(`${JSON.stringify({ endpoint, credential, folder, vip: vips.split('-')[0] })}\n`);
setInterval(() => {}, 60_000);
