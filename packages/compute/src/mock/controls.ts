/**
 * How a test hurts the mock engine: what labels cannot say, since it is not about one machine. One handle may be given to
 * several drivers, which are then connections to one engine.
 */
export interface MockControls {
  /** Every call fails as `unavailable`. */
  silenceEngine(): void;
  /** The engine cannot reach this node: its machines and hardware are unknown. */
  silenceNode(nodeName: string): void;
  /** The node is no longer part of the cluster, and neither are its machines. */
  removeNode(nodeName: string): void;
  /** The next `create` leaves its machine half-made and fails as `unavailable`. */
  dieDuringNextCreate(): void;
  /** Every connection for events that is open now is lost. */
  loseEvents(): void;
  /** Everything answers again; nodes that were removed are back with what they held. */
  heal(): void;
}

/** What a driver asks. */
export interface EngineHealth {
  readonly isSilent: boolean;
  isNodeSilent(nodeName: string): boolean;
  isNodeRemoved(nodeName: string): boolean;
  takeDeath(): boolean;
  /** `null` when connections are lost, a node's name when something is the matter with it. */
  onChange(
    listener: (change: { readonly nodeName: string; readonly what: string } | null) => void,
  ): () => void;
}

export function createMockControls(): MockControls & EngineHealth {
  const silent = new Set<string>();
  const removed = new Set<string>();
  const listeners = new Set<Parameters<EngineHealth['onChange']>[0]>();
  let isSilent = false;
  let isDying = false;
  const notify = (change: { nodeName: string; what: string } | null): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    get isSilent() {
      return isSilent;
    },
    isNodeSilent: (nodeName) => silent.has(nodeName),
    isNodeRemoved: (nodeName) => removed.has(nodeName),
    takeDeath() {
      const isNow = isDying;
      isDying = false;
      return isNow;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    silenceEngine() {
      isSilent = true;
      notify(null);
    },
    silenceNode(nodeName) {
      silent.add(nodeName);
      notify({ nodeName, what: 'silent' });
    },
    removeNode(nodeName) {
      removed.add(nodeName);
      notify({ nodeName, what: 'removed' });
    },
    dieDuringNextCreate() {
      isDying = true;
    },
    loseEvents: () => notify(null),
    heal() {
      const healed = [...silent, ...removed];
      silent.clear();
      removed.clear();
      isSilent = false;
      isDying = false;
      for (const nodeName of healed) notify({ nodeName, what: 'back' });
    },
  };
}
