import {
  createContext,
  use,
  useCallback,
  useId,
  useLayoutEffect,
  useMemo,
  useState,
  type ReactNode,
} from 'react';
import { reasonLines, type Reason } from './logic/reason-lines.ts';

interface ReasonList {
  readonly id: string;
  /** Returns the function that removes the reason. */
  readonly add: (reason: Reason) => () => void;
}

const ReasonsContext = createContext<ReasonList | null>(null);

/** Whitespace separates ids in `aria-describedby`. */
const lineId = (listId: string, why: string): string => `${listId}-${why.replaceAll(/\W+/g, '-')}`;

interface ReasonsProps {
  /** Names the button before its reason, for a group of several. */
  readonly named?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/** Shows below its content, as text, why buttons in it are disabled. */
export function Reasons({ named = false, className = '', children }: ReasonsProps) {
  const id = useId();
  const [reasons, setReasons] = useState<readonly Reason[]>([]);
  const add = useCallback((reason: Reason) => {
    setReasons((known) => [...known, reason]);
    return () => setReasons((known) => known.filter(({ key }) => key !== reason.key));
  }, []);
  const list = useMemo((): ReasonList => ({ id, add }), [id, add]);
  return (
    <ReasonsContext value={list}>
      {children}
      {reasons.length > 0 && (
        <div className={`text-soft col-span-full basis-full text-xs text-pretty ${className}`}>
          {reasonLines(reasons, { named }).map(({ why, text }) => (
            <p key={why} id={lineId(id, why)}>
              {text}
            </p>
          ))}
        </div>
      )}
    </ReasonsContext>
  );
}

/** For dialogs, which are rendered inside the component that opens them. */
export function WithoutReasons({ children }: Readonly<{ children: ReactNode }>) {
  return <ReasonsContext value={null}>{children}</ReasonsContext>;
}

/** Adds a reason to the list around the button. Returns the id of its text; null if no list shows it. */
export function useShownReason(label: string, why: string | null): string | null {
  const key = useId();
  const list = use(ReasonsContext);
  // Before the browser paints, so that nothing moves.
  useLayoutEffect(
    () => (list === null || why === null ? undefined : list.add({ key, label, why })),
    [list, key, label, why],
  );
  return list === null || why === null ? null : lineId(list.id, why);
}
