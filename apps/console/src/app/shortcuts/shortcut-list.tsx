import { useSessionIfAny } from '../../api/session.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextLink } from '../../ui/link.tsx';
import { useShortcutsEnabled } from './shortcut-setting.ts';
import { allowedShortcuts, type Shortcut } from './shortcuts.ts';

const withModifier = [{ keys: ['Ctrl K'], label: 'Search, also while typing' }] as const;

export function ShortcutList({ open, onClose }: Readonly<{ open: boolean; onClose: () => void }>) {
  const session = useSessionIfAny();
  const isOn = useShortcutsEnabled();
  const groups = Map.groupBy(
    allowedShortcuts(session === null ? () => false : session.may),
    ({ group }) => group,
  );
  return (
    <Dialog
      title="Keyboard shortcuts"
      about={
        <>
          {isOn ? 'They do nothing while you type in a field.' : 'Shortcuts without Ctrl are turned off.'}{' '}
          {session !== null && (
            <TextLink to="/account" onClick={onClose}>
              {isOn ? 'Turn them off in your account' : 'Turn them on in your account'}
            </TextLink>
          )}
        </>
      }
      open={open}
      onClose={onClose}
    >
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {[...groups].map(([group, items]) => (
          <section key={group} aria-label={group}>
            <h3 className="mb-1 font-semibold">{group}</h3>
            <ul>
              {[...(group === 'General' ? withModifier : []), ...items].map((each) => (
                <Line key={each.label} shortcut={each} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function Line({
  shortcut,
}: Readonly<{ shortcut: Pick<Shortcut, 'label'> & { readonly keys: readonly string[] } }>) {
  const { keys, label } = shortcut;
  return (
    <li className="flex items-center justify-between gap-3 py-1">
      <span>{label}</span>
      <span className="flex shrink-0 gap-1">
        {keys.map((key, index) => (
          <kbd
            key={`${String(index)} ${key}`}
            className="border-line bg-raised rounded border px-1.5 text-xs"
          >
            {key}
          </kbd>
        ))}
      </span>
    </li>
  );
}
