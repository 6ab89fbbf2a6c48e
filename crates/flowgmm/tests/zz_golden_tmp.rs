use flowgmm::{ReportRequest, Request, Source};
use serde_json::{Value, json};

#[test]
fn golden() {
    let dir = "/tmp/report-golden";
    let request = Request::new(Source::path(format!("{dir}/train.csv")).label_column("label"))
        .with("architecture.depth", 2)
        .with("architecture.hidden", json!([8]))
        .with("train.steps", 60)
        .with("seed", 3);
    let fit = flowgmm::fit(&request, &mut ()).unwrap();
    let test = Source::path(format!("{dir}/test.csv")).label_column("label");
    for (old, test) in [("cv", None), ("test", Some(&test))] {
        let report =
            flowgmm::report(&fit, &ReportRequest { test, ..ReportRequest::new("t") }, &mut ()).unwrap();
        std::fs::write(format!("{dir}/new-{old}.html"), report.to_page().to_html()).unwrap();
        let new = serde_json::to_value(report.summary()).unwrap();
        let old: Value =
            serde_json::from_str(&std::fs::read_to_string(format!("{dir}/{old}.json")).unwrap()).unwrap();
        for key in ["help", "help_by_cross_validation", "two_sample"] {
            println!("{key}: {}\n   {}", new[key], old[key]);
            assert_eq!(new[key], old[key], "{key}");
        }
    }
}
