export type PlaygroundKind = 'chat' | 'image' | 'speech';

/** What the address of the playground says. What is typed is not in it: prompts may be private. */
export interface PlaygroundSearch {
  readonly kind?: PlaygroundKind;
  readonly model?: string;
}

export function parsePlaygroundSearch(search: Readonly<Record<string, unknown>>): PlaygroundSearch {
  const { kind, model } = search;
  return {
    ...((kind === 'image' || kind === 'speech') && { kind }),
    ...(typeof model === 'string' && model !== '' && { model }),
  };
}

export type Modality = 'chat' | 'completion' | 'image' | 'audio';

/** What a model is tried with; null where the playground has nothing for it. */
export function kindForModality(modality: Modality): PlaygroundKind | null {
  switch (modality) {
    case 'chat':
      return 'chat';
    case 'image':
      return 'image';
    case 'audio':
      return 'speech';
    case 'completion':
      return null;
  }
}

/** Those of the models that a side of the playground is for, and which of them is meant. */
export function chooseModel<Model extends { readonly id: string; readonly modality: Modality }>(
  models: readonly Model[],
  kind: PlaygroundKind,
  wanted: string | undefined,
): { readonly fitting: readonly Model[]; readonly chosen: Model | undefined } {
  const fitting = models.filter(({ modality }) => kindForModality(modality) === kind);
  return { fitting, chosen: fitting.find(({ id }) => id === wanted) ?? fitting[0] };
}
