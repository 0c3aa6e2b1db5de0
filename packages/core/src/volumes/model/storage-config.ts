import type { StorageNodeSetting } from '@millrace/platform/config';
import type { Db } from '@millrace/platform/db';
import type { StorageNode } from './storage-nodes.ts';
import {
  insertStorageNode,
  listStorageNodes,
  lockStorageConfiguration,
  unconfigureNodes,
  updateStorageNode,
} from './storage-nodes.store.ts';

export interface RefusedNode {
  readonly name: string;
  readonly problem: string;
}

/**
 * Applies the configuration in one transaction; every worker does it at its start. Nodes that are no longer configured
 * take no new volumes and continue to serve existing ones.
 */
export async function applyStorageConfig(
  db: Db,
  settings: readonly StorageNodeSetting[],
): Promise<readonly RefusedNode[]> {
  return db.transaction({ name: 'apply storage configuration', isolation: 'read committed' }, async (tx) => {
    await lockStorageConfiguration(tx);
    const known = new Map((await listStorageNodes(tx)).map((node) => [node.name, node]));
    const refused: RefusedNode[] = [];
    for (const setting of settings) {
      const node = known.get(setting.name);
      const problem = node === undefined ? null : problemWith(node, setting);
      if (problem !== null) refused.push({ name: setting.name, problem });
      else if (node === undefined) await insertStorageNode(tx, setting);
      else await updateStorageNode(tx, node.id, setting);
    }
    const names = new Set(refused.map(({ name }) => name));
    await unconfigureNodes(
      tx,
      settings.map(({ name }) => name).filter((name) => !names.has(name)),
    );
    return refused;
  });
}

/** Region and kind of a node cannot change, because its volumes were sold with them. */
function problemWith(node: StorageNode, setting: StorageNodeSetting): string | null {
  return node.region === setting.region && node.kind === setting.kind
    ? null
    : 'its region or kind has changed; give the node another name';
}
