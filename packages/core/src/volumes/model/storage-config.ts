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

/** A storage node of the configuration that was left as it is, and why. */
export interface RefusedNode {
  readonly name: string;
  readonly problem: string;
}

/**
 * Brings the tables in line with the configuration, in one transaction. Every worker does it at its start. What the
 * configuration no longer names takes no new volumes, and goes on with those it has.
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

/** What a node is cannot change under its name: volumes were sold as being there. */
function problemWith(node: StorageNode, setting: StorageNodeSetting): string | null {
  return node.region === setting.region && node.kind === setting.kind
    ? null
    : 'its region or kind differs from before: give it another name';
}
