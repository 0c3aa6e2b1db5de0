/** Injects faults of nodes and of the engine. Drivers that share a handle are connections to one engine. */
export interface MockControls {
  /** Makes every call fail as `unavailable`. */
  silenceEngine(): void;
  /** Makes the node unreachable: its machines and hardware are unknown. */
  silenceNode(nodeName: string): void;
  /** Removes the node and its machines from the cluster. */
  removeNode(nodeName: string): void;
  /** The next `create` leaves a partial machine and fails as `unavailable`. */
  dieDuringNextCreate(): void;
  /** Breaks all open event connections. */
  loseEvents(): void;
  /** Undoes all faults; removed nodes return with their machines. */
  heal(): void;
}

export interface EngineHealth {
  readonly isSilent: boolean;
  isNodeSilent(nodeName: string): boolean;
  isNodeRemoved(nodeName: string): boolean;
  takeDeath(): boolean;
  /** Calls the listener with null when connections are lost, or with the node that changed. */
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
