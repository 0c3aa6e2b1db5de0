import { isDriverError } from '../driver-error.ts';
import type { InventoryNode } from '../driver.ts';
import type { IronicInspection, IronicNode } from './ironic-schemas.ts';
import type { IronicClient } from './ironic-client.ts';
import { inventoryNodeOf } from './ironic-inventory.ts';
import { readOperatorNotes, type LocatedMachine } from './ironic-machine.ts';

const maxConcurrentReads = 8;

/** Caches inspection results, which Ironic returns only node by node, until the node is inspected again. */
export class IronicInspections {
  readonly #client: IronicClient;
  readonly #stored = new Map<string, { readonly at: string; readonly found: IronicInspection | null }>();

  constructor(client: IronicClient) {
    this.#client = client;
  }

  /** Null if the node was not inspected, or no result is stored. */
  async of(node: IronicNode, signal: AbortSignal): Promise<IronicInspection | null> {
    const at = node.inspection_finished_at ?? null;
    if (at === null) return null;
    const cached = this.#stored.get(node.uuid);
    if (cached?.at === at) return cached.found;
    const found = await this.#client.findInspection(node.uuid, signal);
    this.#stored.set(node.uuid, { at, found });
    return found;
  }

  /** Limits concurrent reads of inspection results. */
  async inventory(
    nodes: readonly { readonly node: IronicNode; readonly located: LocatedMachine | null }[],
    signal: AbortSignal,
  ): Promise<InventoryNode[]> {
    const there = new Set(nodes.map(({ node }) => node.uuid));
    for (const uuid of this.#stored.keys()) if (!there.has(uuid)) this.#stored.delete(uuid);
    const seen = Array.from<InventoryNode>({ length: nodes.length });
    const queue = nodes.entries();
    const work = async (): Promise<void> => {
      for (const [index, { node, located }] of queue) {
        seen[index] = await this.#nodeOf(node, located, signal);
      }
    };
    await Promise.all(Array.from({ length: maxConcurrentReads }, work));
    return seen;
  }

  /** A node that cannot be read is reported as unreachable, without affecting others. */
  async #nodeOf(
    node: IronicNode,
    located: LocatedMachine | null,
    signal: AbortSignal,
  ): Promise<InventoryNode> {
    try {
      return inventoryNodeOf(node, located, await this.of(node, signal));
    } catch (error) {
      if (!isDriverError(error) || signal.aborted || this.#client.closing.aborted) throw error;
      const address = readOperatorNotes(node).address ?? null;
      return { name: node.uuid, reachable: false, detail: error.message, address, hardware: null };
    }
  }
}
