/** The card's fields that the page shows. A field may be absent: the page then says less. */

export interface Certificate {
  rows: number;
  round_trip: number | null;
  round_trip_f64: number | null;
  jacobians: number;
  log_det: number | null;
}

export interface EpochRecord {
  step: number;
  loss: number;
}

export interface CardAnswer {
  classes?: string[];
  likelihood?: string;
  temperature?: number;
  class_shares?: number[];
  class_share_intervals?: [number, number][];
  evidence?: {
    n: number;
    accuracy: number;
    flow_accuracy: number;
    forest_accuracy?: number | null;
    flow_weight: number;
    temperature?: number;
  } | null;
  decisions?: { what: string; choice: string; why: string }[];
  preprocessing?: string;
  parameters?: number;
  version?: string;
  seed?: number;
  data_hash?: string;
  n_labelled?: number;
  n_unlabelled?: number;
  config?: unknown;
  history?: EpochRecord[] | { epochs?: EpochRecord[] } | null;
  certificates?: {
    training?: Certificate | null;
    samples?: Certificate | null;
    data?: Certificate | null;
    images?: { images: number; largest: number; exact: number; bits_per_dim: number } | null;
  } | null;
}

export function historyOf(card: CardAnswer): EpochRecord[] {
  const { history } = card;
  if (!history) return [];
  return Array.isArray(history) ? history : (history.epochs ?? []);
}

export function certificateLines(certificates: CardAnswer["certificates"]): { what: string; text: string }[] {
  const found: { what: string; text: string }[] = [];
  const say = (what: string, certificate: Certificate | null | undefined) => {
    if (!certificate) return;
    const exact = `f⁻¹(f(x)) = x within ${small(certificate.round_trip)} (${small(certificate.round_trip_f64)} in double precision) on ${certificate.rows} rows`;
    const det =
      certificate.jacobians > 0
        ? `; log-determinant within ${small(certificate.log_det)} of the Jacobian's on ${certificate.jacobians}`
        : "";
    found.push({ what, text: exact + det });
  };
  say("Training rows:", certificates?.training);
  say("New samples:", certificates?.samples);
  say("The data:", certificates?.data);
  const images = certificates?.images;
  if (images)
    found.push({
      what: "Pixels:",
      text: `${(100 * images.exact).toFixed(2)} % come back as they were in ${images.images} images, ${images.bits_per_dim.toFixed(2)} bits per dimension`,
    });
  return found;
}

const small = (value: number | null) => (value === null ? "?" : value.toExponential(0).replace("-", "−"));
