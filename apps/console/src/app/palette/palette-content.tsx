import { Autocomplete } from '@base-ui/react/autocomplete';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useSessionIfAny } from '../../api/session.tsx';
import { applyTheme } from '../theme.ts';
import { useSignOut } from '../use-sign-out.ts';
import { actionsAndPages } from './palette-actions.ts';
import { groupItems, type PaletteGroup, type PaletteItem } from './palette-items.ts';
import { useResourceSearch } from './use-resource-search.ts';

interface PaletteContentProps {
  readonly onClose: () => void;
  readonly onShowShortcuts: () => void;
}

export function PaletteContent({ onClose, onShowShortcuts }: PaletteContentProps) {
  const [typed, setTyped] = useState('');
  const session = useSessionIfAny();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { items: resources, isSearching, failed } = useResourceSearch(typed);
  const fixed = actionsAndPages({
    session,
    setTheme: applyTheme,
    signOut: () => void signOut(),
    showShortcuts: onShowShortcuts,
  });
  const groups = useMemo(() => groupItems([...fixed, ...resources], typed), [fixed, resources, typed]);
  const choose = ({ target }: PaletteItem): void => {
    onClose();
    if ('run' in target) target.run();
    else void navigate({ href: target.href });
  };
  return (
    <Autocomplete.Root
      inline
      open
      items={groups}
      mode="none"
      value={typed}
      onValueChange={setTyped}
      autoHighlight="always"
      keepHighlight
      itemToStringValue={({ label }: PaletteItem) => label}
    >
      <Autocomplete.Input
        aria-label="Search pages, actions and resources"
        placeholder="Name, id, address, page or action…"
        autoFocus
        className="border-line w-full border-b bg-transparent px-4 py-3 text-base outline-none"
      />
      <Status isSearching={isSearching} failed={failed} count={groups.length} />
      <Autocomplete.List className="max-h-[min(24rem,60vh)] overflow-y-auto p-1">
        {(group: PaletteGroup) => (
          <Autocomplete.Group key={group.value} items={group.items} className="mb-1">
            <Autocomplete.GroupLabel className="text-soft px-3 pt-2 pb-1 text-xs font-medium">
              {group.value}
            </Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(item: PaletteItem) => <Line key={item.id} item={item} onChoose={choose} />}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

function Line({ item, onChoose }: Readonly<{ item: PaletteItem; onChoose: (item: PaletteItem) => void }>) {
  const { icon: Icon, label, detail } = item;
  return (
    <Autocomplete.Item
      value={item}
      onClick={() => onChoose(item)}
      className="data-[highlighted]:bg-raised flex items-center gap-2.5 rounded px-3 py-2 outline-none"
    >
      <Icon aria-hidden className="text-soft size-4 shrink-0" />
      <span className="min-w-0 truncate">{label}</span>
      {detail !== undefined && (
        <span className="text-soft ml-auto max-w-1/2 shrink-0 truncate pl-2 text-xs">{detail}</span>
      )}
    </Autocomplete.Item>
  );
}

interface StatusProps {
  readonly isSearching: boolean;
  readonly failed: readonly string[];
  readonly count: number;
}

function Status({ isSearching, failed, count }: StatusProps) {
  const text = isSearching
    ? 'Searching…'
    : failed.length > 0
      ? `Could not search: ${failed.join(', ')}.`
      : count === 0
        ? 'No results.'
        : '';
  return (
    <p role="status" className="text-soft px-4 text-xs [&:not(:empty)]:pt-2">
      {text}
    </p>
  );
}
