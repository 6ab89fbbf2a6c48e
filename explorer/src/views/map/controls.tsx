/** What the map shows: its axes, its colours, and which rows. */
import { count, percent, plural } from "../../core/format";
import type { Range } from "../../scatter/numbers";
import { Choice } from "../../ui/parts";
import { counted } from "./colours";
import { FIELD_NAMES, type Key, type MapData, columnKey, keyName } from "./data";
import { HistogramFilter } from "./filters";
import { Legend } from "./legend";

/** Fields with a histogram from the start. */
export const FILTERED_FIELDS = ["certainty", "log_p", "typicality", "boundary"];
const COLOURED_BY = ["class", "label", "certainty", "log_p", "typicality", "boundary"];

export interface Shown {
  x: Key;
  y: Key;
  colour: Key;
}

export interface Filters {
  brushes: Record<Key, Range>;
  /** Columns with a histogram. */
  extra: Key[];
  /** Classes that are not shown. */
  hidden: ReadonlySet<number>;
}

interface Props {
  data: MapData;
  shown: Shown;
  onShown: (shown: Shown) => void;
  /** Of the colours. */
  range: Range;
  mask: Uint8Array;
  /** Rows that the mask lets through. */
  left: number;
  filters: Filters;
  onFilters: (filters: Filters) => void;
}

export function MapControls(props: Props) {
  return (
    <aside class="controls" aria-label="What the map shows">
      <Axes {...props} />
      <Colours {...props} />
      <FilterList {...props} />
    </aside>
  );
}

const columnsOf = (data: MapData) => data.info.columns.map((name) => [columnKey(name), name] as const);

function Axes({ data, shown, onShown }: Props) {
  const columns = columnsOf(data);
  const latent = shown.x === "x";
  const explained = data.info.map?.explained;
  const across = (key: Key) => {
    if (key === "latent") return onShown({ ...shown, x: "x", y: "y" });
    const other = columns.find(([column]) => column !== key)?.[0] ?? key;
    onShown({ ...shown, x: key, y: shown.y === "y" ? other : shown.y });
  };
  return (
    <section>
      <h2>Axes</h2>
      <div class="axes">
        <Choice
          label="Across"
          value={latent ? "latent" : shown.x}
          options={[["latent", "Latent map"], ...columns]}
          onChange={across}
        />
        {!latent && <Choice label="Up" value={shown.y} options={columns} onChange={(y) => onShown({ ...shown, y })} />}
      </div>
      {latent && explained !== null && explained !== undefined && (
        <p class="why">
          Two directions of latent space,{" "}
          {percent(Array.isArray(explained) ? explained.reduce((a, b) => a + b, 0) : explained, 0)} of its variance.
        </p>
      )}
    </section>
  );
}

function Colours({ data, shown, onShown, range, mask, filters, onFilters }: Props) {
  const fields = COLOURED_BY.filter((key) => data.info.fields.includes(key)).map((key) => [key, FIELD_NAMES[key]] as const);
  const categories = data.categories(shown.colour);
  const values = data.have(shown.colour);
  const toggle = (k: number) => {
    const hidden = new Set(filters.hidden);
    if (!hidden.delete(k)) hidden.add(k);
    onFilters({ ...filters, hidden });
  };
  return (
    <section>
      <h2>Colour</h2>
      <Choice
        label="Coloured by"
        hideLabel
        value={shown.colour}
        options={[...fields, ...columnsOf(data)]}
        onChange={(colour) => onShown({ ...shown, colour })}
      />
      <Legend
        name={keyName(shown.colour)}
        categories={categories}
        counts={categories && values ? counted(values, mask, categories.length) : null}
        range={range}
        hidden={shown.colour === "class" ? filters.hidden : null}
        onToggle={toggle}
      />
    </section>
  );
}

function FilterList({ data, mask, left, filters, onFilters }: Props) {
  const n = data.info.rows;
  const unused = columnsOf(data).filter(([key]) => !filters.extra.includes(key));
  const brush = (key: Key, range: Range | null) => {
    const { [key]: _, ...others } = filters.brushes;
    return range ? { ...others, [key]: range } : others;
  };
  const remove = (key: Key) =>
    onFilters({ ...filters, brushes: brush(key, null), extra: filters.extra.filter((other) => other !== key) });
  return (
    <section>
      <h2>
        Filter <small>{left === n ? plural(n, "row") : `${count(left)} of ${plural(n, "row")}`}</small>
      </h2>
      {[...FILTERED_FIELDS.filter((key) => data.info.fields.includes(key)), ...filters.extra].map((key) => (
        <HistogramFilter
          key={key}
          name={keyName(key)}
          values={data.have(key)}
          mask={left === n ? null : mask}
          brush={filters.brushes[key] ?? null}
          onBrush={(range) => onFilters({ ...filters, brushes: brush(key, range) })}
          onRemove={filters.extra.includes(key) ? () => remove(key) : undefined}
        />
      ))}
      {unused.length > 0 && (
        <Choice
          label="Filter by a column"
          hideLabel
          value=""
          options={[["", "Filter by a column…"], ...unused]}
          onChange={(key) => key !== "" && onFilters({ ...filters, extra: [...filters.extra, key] })}
        />
      )}
    </section>
  );
}
