export type PlaygroundKind = 'chat' | 'image' | 'speech';

/** URL parameters of the playground. Prompts are not in the URL, because they may be private. */
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

/** The panel for a modality; null if there is none. */
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

export function chooseModel<Model extends { readonly id: string; readonly modality: Modality }>(
  models: readonly Model[],
  kind: PlaygroundKind,
  wanted: string | undefined,
): { readonly fitting: readonly Model[]; readonly chosen: Model | undefined } {
  const fitting = models.filter(({ modality }) => kindForModality(modality) === kind);
  return { fitting, chosen: fitting.find(({ id }) => id === wanted) ?? fitting[0] };
}
